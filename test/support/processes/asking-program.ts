/**
 * A program of a user's, in a process of its own, that asks for tokens as a test tells it to:
 *
 *     fork('asking-program.ts', [LIBRARY, NAME, RESOURCE])
 *
 * Each message is `connect` (closes what it had), `ask` (for what it is allowed) or `wait` (for the user). It answers
 * `token`, `connected`, or the reason of a refusal.
 */
const [library = '', name = '', resource = ''] = process.argv.slice(2);
const { connect } = (await import(library)) as typeof import('../../../src/client/index.ts');

let connection: Awaited<ReturnType<typeof connect>> | undefined;

async function does(what: unknown): Promise<string> {
  if (what === 'connect') {
    connection?.close();
    connection = await connect({ name });
    return 'connected';
  }
  const interaction = what === 'wait' ? 'allow' : 'never';
  await connection?.getToken({ resource, interaction });
  return 'token';
}

process.on('message', (what) => {
  does(what).then(
    (said) => process.send?.(said),
    (error: unknown) => process.send?.((error as { reason?: string }).reason ?? String(error)),
  );
});
// The test's end is this process's end.
process.on('disconnect', () => process.exit());
process.send?.('ready');
