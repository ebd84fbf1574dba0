/** When V8 optimizes the HTTP parser: V8 tells what it compiles, in a process that sends requests as the broker does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Script } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { optimizingParserLater } from '../../../src/base/system/http-parser.ts';

const [agentModule, parserModule] = ['https-agent', 'http-parser'].map(
  (name) => new URL(`../../../src/base/system/${name}.ts`, import.meta.url).href,
);

/** Sends requests one after another, to itself. */
const program = (requests: number): string => `
  import { createServer } from 'node:http';
  import { fetch } from 'undici';
  import { makeAgent } from ${JSON.stringify(agentModule)};
  import { optimizingParserLater } from ${JSON.stringify(parserModule)};
  const server = createServer((request, response) => response.end('{}')).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const dispatcher = makeAgent({ reach: 'thisMachine' }, { handOver: optimizingParserLater() });
  for (let sent = 0; sent < ${requests}; sent += 1)
    await (await fetch('http://127.0.0.1:' + server.address().port, { dispatcher })).text();
  await dispatcher.close();
  server.close();`;

/** By which of V8's compilers the parser's functions went: Liftoff is quick, TurboFan optimizes. */
async function compilersFor(requests: number): Promise<Set<string>> {
  const flags = ['--trace-wasm-compilation-times', '--input-type=module', '-e'];
  const child = spawn(process.execPath, [...flags, program(requests)], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(line);
  expect(await ended).toEqual([0, null]);
  const compiled = lines.flatMap((line) => [...line.matchAll(/function (0x\w+)#\d+ using (\w+)/g)]);
  // Node's own reader of TypeScript is WebAssembly too. The parser is loaded after it.
  const parser = compiled.findLast(([, , compiler]) => compiler === 'Liftoff')?.[1];
  return new Set(compiled.flatMap(([, module, compiler = '']) => (module === parser ? [compiler] : [])));
}

it('V8 takes compiled code from a cache again once the parser is made', () => {
  const cachedData = new Script('(() => 0)()').createCachedData();
  // V8 compares the length of the text only. The same text it would have in memory, and not ask the cache.
  const isRejected = (text: string): boolean | undefined =>
    new Script(text, { cachedData }).cachedDataRejected;
  let isRejectedMeanwhile: boolean | undefined;
  const handOver = optimizingParserLater();
  handOver(() => {
    isRejectedMeanwhile = isRejected('(() => 1)()');
  });
  expect(isRejectedMeanwhile).toBe(true);
  expect(isRejected('(() => 2)()')).toBe(false);
});

it('a process that sends a few requests does not optimize the HTTP parser, and one that sends many does', async () => {
  expect(await compilersFor(20)).toEqual(new Set(['Liftoff']));
  expect(await compilersFor(1000)).toEqual(new Set(['Liftoff', 'TurboFan']));
});
