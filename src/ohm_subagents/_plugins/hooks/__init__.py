"""The hooks of plugins: their markers, signatures and documentation. Never anything that calls one."""
