// What each program of this folder does at the test's word: one operation of its client a message, one answer each.
//
//   node sdk-2.mjs CONFIGURATION    a file with `mcpServers`, as such clients read it; the entry is `workshop`
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** The entry, as the user configured it. */
export const entry = JSON.parse(readFileSync(process.argv[2], 'utf8')).mcpServers.workshop;

/** What every client here answers when a server asks its user or its model. */
export const accepted = { action: 'accept', content: { colour: 'green' } };
export const completion = { model: 'small', role: 'assistant', content: { type: 'text', text: 'hello' } };

/** The text of a tool's result; a result that says it is an error throws. */
export function textOf({ content, isError }) {
  const text = content.map((each) => each.text).join('');
  if (isError) throw new Error(text);
  return text;
}

/** What both majors of the SDK do, and the AI SDK's client but for calls. Their ways to call differ. */
export const reads = (client) => ({
  tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
  read: async (uri) => (await client.readResource({ uri })).contents[0].text,
  prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
  prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages[0].content.text,
  close: async () => client.close(),
});

/** `operations` by name; `call` takes a signal last. */
export function serve(operations) {
  const underWay = new Map();
  const all = {
    ...operations,
    async call(tool, args) {
      const abort = new AbortController();
      underWay.set(args.key, abort);
      return operations.call(tool, args, abort.signal);
    },
    /** Calls of `echo`, some at once; says of each key what came: its text, or an error. */
    async calls(keys, atOnce) {
      const left = [...keys];
      const outcomes = [];
      const worker = async () => {
        for (let key = left.shift(); key !== undefined; key = left.shift()) {
          const call = operations.call('echo', { key, text: key });
          outcomes.push(
            await call.then(
              (text) => ({ key, text }),
              (error) => ({ key, error: String(error?.message ?? error) }),
            ),
          );
        }
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      return outcomes;
    },
    cancel: async (key) => underWay.get(key).abort(),
  };
  const answer = async ({ id, operation, args }) => {
    try {
      process.send({ id, value: (await all[operation](...args)) ?? null });
    } catch (error) {
      process.send({ id, error: String(error?.message ?? error) });
    }
  };
  process.on('message', (message) => void answer(message));
  process.send({ ready: Object.keys(operations) });
}
