// A server of the TypeScript SDK on stdio, in both eras: one tool that asks, written the SDK's own way.
import { McpServer, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "typescript notes", version: "1" });
  server.registerTool("delete", { inputSchema: z.object({ title: z.string() }) }, async ({ title }, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "why");
    if (answer.kind === "missing") {
      const requestedSchema = z.object({ reason: z.string() });
      return inputRequired({
        inputRequests: { why: inputRequired.elicit({ message: `Why delete ${title}?`, requestedSchema }) },
      });
    }
    const text = answer.action === "accept" ? `deleted ${title}: ${answer.content.reason}` : `kept: ${answer.action}`;
    return { content: [{ type: "text", text }] };
  });
  return server;
});
