/**
 * Where Node keeps what it compiled, for processes that start with an environment of their own. scripts/test.mjs names
 * the folder; a process that reads from it starts in about half the time.
 */
export function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const folder = process.env['NODE_COMPILE_CACHE'];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}
