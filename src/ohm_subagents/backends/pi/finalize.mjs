// An extension of pi that gives a subagent, and nobody else, the tool by which it hands in its answer.
const TERMS = JSON.parse(__TERMS__);
const SHOWN = 60;

const isMissing = (value) => value === undefined || value === null;
const isBlank = (value) => typeof value !== "string" || value.trim() === "";

function what(name, value) {
  if (isMissing(value)) return `'${name}' is missing`;
  const text = JSON.stringify(value);
  return `'${name}' is ${text.length <= SHOWN ? text : `${text.slice(0, SHOWN - 1)}…`}`;
}

// The rules of `parse_final`, but for the schema of a result: whoever reads the answer holds it to that.
function fault({ status, result, error }) {
  if (status !== "SUCCESS" && status !== "ERROR") return `${what("status", status)}; allowed: SUCCESS or ERROR.`;
  if (!isMissing(error) && typeof error !== "string") return `${what("error", error)}; allowed: a text.`;
  if (status === "ERROR") {
    if (isBlank(error)) return `${what("error", error)}; ERROR requires an error that is not empty.`;
    const isTaken = !TERMS.takesText || isMissing(result) || typeof result === "string";
    return isTaken ? "" : `${what("result", result)}; allowed: a text.`;
  }
  if (!TERMS.takesText) return result === undefined ? "'result' is missing; SUCCESS requires one." : "";
  return isBlank(result) ? `${what("result", result)}; SUCCESS requires a result: a text that is not empty.` : "";
}

export default function (pi) {
  if (process.env.PI_SUBAGENT_CHILD !== "1") return;
  pi.registerTool({
    name: TERMS.name,
    label: "Finalize",
    description: TERMS.description,
    parameters: TERMS.parameters,
    async execute(_id, answer) {
      const wrong = fault(answer ?? {});
      if (wrong) throw new Error(wrong);
      return { content: [{ type: "text", text: TERMS.handedIn }], details: answer, terminate: true };
    },
  });
}
