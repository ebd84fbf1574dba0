/**
 * Which requests may be sent a second time when the first one's stream broke: those that change nothing.
 *
 * Invariant: `tools/call` is none of them, whatever a tool's annotations say: they are hints of the server.
 */
const harmless: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'ping',
  'completion/complete',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'tasks/list',
  'tasks/get',
]);

export function mayReissue(method: string): boolean {
  return harmless.has(method);
}
