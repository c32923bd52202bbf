// The TypeScript SDK's client: `client.mjs ERA TOOL ARGUMENTS ANSWER -- COMMAND…` or `… -- URL`.
// Calls one tool and prints what it saw. ANSWER is the content of every accept; "none" declares nothing.
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
const asked = [];
if (asks) {
  client.setRequestHandler("elicitation/create", async (request) => {
    asked.push(request.params.message);
    return { action: "accept", content: JSON.parse(answer) };
  });
}
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: { ...process.env } });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((each) => each.name);
const result = await client.callTool({ name: tool, arguments: JSON.parse(given) });
console.log(JSON.stringify({ tools, asked, result }));
await client.close();
