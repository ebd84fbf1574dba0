/**
 * What a start does with the records of the home, before anybody can ask.
 *
 * Invariant: a file that can't be read stays as it is, and the start goes on.
 */
import type { Grant } from '../broker/records/grant.ts';
import type { BrokerParts } from '../broker/parts.ts';
import { abandonRevocation, isPending } from '../broker/revocation/revoker.ts';
import { storesOf } from '../broker/records/records.ts';
import type { Records } from '../broker/records/records.ts';
import type { WriteLog } from './system/log.ts';

/** In a mismatched home the index is left as it is: it belongs to another vault. */
export async function startRecords(
  records: Records,
  parts: BrokerParts,
  { log, isMismatched }: { readonly log: WriteLog; readonly isMismatched: boolean },
): Promise<void> {
  await loadRecords(records, log);
  // A record of grants that can't be read stays as it is, and refuses its own requests only.
  const isForgotten = parts.vault.kind === 'memory' && !isMismatched;
  if (isForgotten && records.grants.isLoaded) await forgetMemoryVault(parts);
}

/** A file that can't be read refuses its own requests and is reported; the rest goes on. */
async function loadRecords(records: Records, log: WriteLog): Promise<void> {
  for (const store of storesOf(records)) {
    await store
      .load()
      .catch((error: unknown) =>
        log(error instanceof Error ? error.message : 'a record file failed', 'error'),
      );
  }
}

/** The memory vault starts empty: what it held is gone, and the grants say so. */
async function forgetMemoryVault(parts: BrokerParts): Promise<void> {
  const { grants } = parts;
  const why = 'the memory vault forgot its tokens when the broker stopped';
  const holding = grants.all().filter(({ state }: Grant) => state.kind === 'active');
  for (const grant of holding) {
    await grants.change(grant, {
      state: { kind: 'loginRequired', why, cause: 'vaultForgot' },
      hasRefreshToken: false,
    });
  }
  for (const grant of grants.all().filter(isPending)) await abandonRevocation(parts, grant);
}
