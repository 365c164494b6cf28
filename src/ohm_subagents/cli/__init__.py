"""The commands of `ohm`. Never a rule that another caller would need too."""
