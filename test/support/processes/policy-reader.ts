/**
 * Reads policies at their place in the system as a broker does at its start, one after another, in a mount namespace of
 * its own (test/e2e/home/policy.test.ts). Each line on stdin is one; prints a JSON list of what was refused.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { policyPlace, readPolicy } from '../../../src/daemon/home/policy-file.ts';

/** What lies at the place: a file, a pipe, or a link to elsewhere. */
export type PolicyCase =
  | { readonly content: string; readonly mode: number }
  | { readonly pipe: true }
  | { readonly link: string };

const file = await policyPlace();

function put(found: PolicyCase): void {
  rmSync(file, { force: true });
  if ('pipe' in found) execFileSync('mkfifo', [file]);
  else if ('link' in found) symlinkSync(found.link, file);
  else {
    writeFileSync(file, found.content);
    chmodSync(file, found.mode);
  }
}

const refusals: string[] = [];
for (const line of (await text(process.stdin)).trimEnd().split('\n')) {
  put(JSON.parse(line) as PolicyCase);
  refusals.push(
    await readPolicy(file).then(
      () => '',
      (error: unknown) => (error instanceof Error ? error.message : 'no error'),
    ),
  );
}
process.stdout.write(JSON.stringify(refusals));
