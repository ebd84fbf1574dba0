/** The machine's resolver until the test ends: `node:dns` gets the test's answers, or else the real ones. */
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { isIPv6 } from 'node:net';
import { onTestFinished } from 'vitest';

/** Addresses for a name; undefined: the real resolver answers. */
export type Answers = (hostname: string) => readonly string[] | undefined;

/** Answers each look-up from now on, in order; returns the names that were looked up. */
export function resolveBy(answers: Answers): readonly string[] {
  const asked: string[] = [];
  const real = dns.lookup;
  const realPromised = dns.promises.lookup;
  const answer = (hostname: string): dns.LookupAddress[] | undefined => {
    const found = answers(hostname);
    if (found) asked.push(hostname);
    return found?.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  };
  const lookup = (hostname: string, options: dns.LookupAllOptions, callback: Callback): void => {
    const found = answer(hostname);
    if (found) setImmediate(callback, null, found);
    else real(hostname, options, callback);
  };
  const promised = async (hostname: string): Promise<dns.LookupAddress[]> =>
    answer(hostname) ?? realPromised(hostname, { all: true });
  place({ lookup: Object.assign(lookup, real), promised: Object.assign(promised, realPromised) });
  onTestFinished(() => place({ lookup: real, promised: realPromised }));
  return asked;
}

type Callback = (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void;

function place({ lookup, promised }: { readonly lookup: unknown; readonly promised: unknown }): void {
  Object.assign(dns, { lookup });
  Object.assign(dns.promises, { lookup: promised });
  syncBuiltinESMExports();
}
