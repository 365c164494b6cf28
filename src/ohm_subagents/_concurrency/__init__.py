"""Lifetimes on asyncio and trio: groups that can be left, shared resources, locks, faults. Never a word of tasks."""
