// The TypeScript SDK's client: `client.mjs ERA TOOL ARGUMENTS ANSWER -- COMMAND…` or `… -- URL`.
// Calls one tool and prints what it saw. ANSWER is the content of every accept; "none" declares nothing.
// With PATIENCE in the environment, its calls end after so many milliseconds without progress, and its person thinks
// for three times as long.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const at = process.argv.indexOf("--");
const [era, tool, given, answer] = process.argv.slice(2, at);
const [command, ...args] = process.argv.slice(at + 1);
const asks = answer !== "none";
const client = new Client(
  { name: "stranger", version: "1" },
  {
    capabilities: asks ? { elicitation: { form: {}, url: {} } } : {},
    versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: era } },
  },
);
const patience = Number(process.env.PATIENCE ?? 0);
const asked = [];
if (asks) {
  client.setRequestHandler("elicitation/create", async (request) => {
    asked.push(request.params.message);
    await new Promise((resolve) => setTimeout(resolve, 3 * patience));
    return { action: "accept", content: JSON.parse(answer) };
  });
}
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: { ...process.env } });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((each) => each.name);
const options = patience ? { timeout: patience, resetTimeoutOnProgress: true, onprogress: () => {} } : {};
const result = await client.callTool({ name: tool, arguments: JSON.parse(given) }, options);
console.log(JSON.stringify({ tools, asked, result }));
await client.close();
