"""The commands of `ohm`, made of doors only. Never a rule that another caller would need too."""
