"""`painter` of ohm.json: the services that make images."""

from pydantic import Field

from ohm_subagents._config.section import Section
from ohm_subagents._config.values import Switch


class GooglePainter(Section):
    enabled: Switch = Field(default=True, description="Whether Google's image model may be used.")
    model: str = Field(default="gemini-2.5-flash-image-preview", description="Google's image model.")


class OpenAIPainter(Section):
    enabled: Switch = Field(default=True, description="Whether OpenAI's image model may be used.")
    model: str = Field(default="gpt-image-1", description="OpenAI's image model.")


class AzurePainter(Section):
    enabled: Switch = Field(default=False, description="Whether an Azure image deployment may be used.")
    deployment: str = Field(default="", description="Name of the Azure deployment.")
    endpoint: str = Field(default="", description="Address of the Azure resource.")
    api_version: str = Field(default="2025-04-01-preview", description="Version of the Azure API.")


class Painter(Section):
    google_nano_banana: GooglePainter = GooglePainter()
    openai: OpenAIPainter = OpenAIPainter()
    azure_openai: AzurePainter = AzurePainter()
