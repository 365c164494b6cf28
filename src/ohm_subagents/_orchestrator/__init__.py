"""The engine: admission, the queue, the run loop, its guards and observers. Never tools, rendering or JSON payloads."""
