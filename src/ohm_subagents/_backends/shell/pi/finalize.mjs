// An extension of pi that gives a subagent, and nobody else, the tool by which it hands in its answer.
const DESCRIPTION = __DESCRIPTION__;
const INPUT = __INPUT__;

const isThere = (value) => (typeof value === "string" ? value.trim() !== "" : value !== undefined && value !== null);

export default function (pi) {
  if (process.env.PI_SUBAGENT_CHILD !== "1") return;
  pi.registerTool({
    name: "subagent_finalize",
    label: "Finalize",
    description: DESCRIPTION,
    parameters: INPUT,
    async execute(_id, answer) {
      if (answer.status !== "SUCCESS" && answer.status !== "ERROR") {
        throw new Error("'status' is required; allowed: SUCCESS or ERROR.");
      }
      const needed = answer.status === "SUCCESS" ? "result" : "error";
      if (!isThere(answer[needed])) throw new Error(`'${needed}' is missing; ${answer.status} requires one that is not empty.`);
      return {
        content: [{ type: "text", text: "The answer is handed in. Call no other tool." }],
        details: answer,
        terminate: true,
      };
    },
  });
}
