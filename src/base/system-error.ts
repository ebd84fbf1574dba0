/** The code of an error that the system raised. Its message isn't used: it holds paths, and differs between systems. */

/** `ENOENT` and the like; `unknown` for anything else. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
