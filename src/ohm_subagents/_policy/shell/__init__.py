"""Rules for the command lines of `bash`: read without running, matched as words and never as text. It runs nothing."""
