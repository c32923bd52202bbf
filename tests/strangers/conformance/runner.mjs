// Runs the conformance suite's own command again and again in one process: loading it takes longer than a scenario.
// Each line of standard input is a list of words; each line of standard output is the exit code and the output.
import http from "node:http";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const suite = pathToFileURL(process.argv[2]).href;
const answer = process.stdout.write.bind(process.stdout);
const ended = Symbol("the command has ended");
let end;
let output;

process.exit = (code = process.exitCode ?? 0) => {
  end(code);
  throw ended;
};
for (const stream of [process.stdout, process.stderr])
  stream.write = (text) => {
    output.push(text.toString());
    return true;
  };
for (const event of ["uncaughtException", "unhandledRejection"])
  process.on(event, (error) => {
    if (error === ended) return;
    output.push(String(error?.stack ?? error));
    end(1);
  });

// The connections of a scenario end with it, as they would with its process.
const fetches = Symbol.for("undici.globalDispatcher.1");
async function disconnect() {
  http.globalAgent.destroy();
  const used = globalThis[fetches];
  if (used === undefined) return;
  globalThis[fetches] = new used.constructor();
  await used.destroy();
}

let run = 0;
for await (const line of createInterface({ input: process.stdin })) {
  output = [];
  process.exitCode = undefined;
  process.argv = ["node", "conformance", ...JSON.parse(line)];
  const code = await new Promise((resolve) => {
    end = resolve;
    import(`${suite}?${run++}`).catch((error) => process.emit("unhandledRejection", error));
  });
  await disconnect();
  answer(JSON.stringify([code, output.join("")]) + "\n");
}
