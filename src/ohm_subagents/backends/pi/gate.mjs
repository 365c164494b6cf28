// An extension of pi that asks whoever has started it before each call of a tool, and keeps to the answer.
const NAME = "ohm-gate";

export default function (pi) {
  pi.on("session_start", (_event, ctx) => ctx.ui.setStatus(NAME, "ready"));
  pi.on("tool_call", async (event, ctx) => {
    const call = { tool: event.toolName, callId: event.toolCallId, arguments: event.input };
    const { isAllowed, refusal } = JSON.parse((await ctx.ui.input(NAME, JSON.stringify(call))) ?? "{}");
    return isAllowed === true ? undefined : { block: true, reason: refusal ?? "The call was not allowed." };
  });
}
