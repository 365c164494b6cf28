from typing import TypedDict

class UsageMetadata(TypedDict):
    input_tokens: int
    output_tokens: int
    total_tokens: int
