"""Lifetimes on asyncio and trio: groups that can be left, shared resources, locks, faults. Never a word of tasks.

`faults.interrupt_in` says what of an exception is no plugin's fault and has to go on.
"""
