/** What the issuer said to a revocation, in words. */
import { strings } from '../../base/strings.ts';
import type { Receipt } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.receipts;

export const receiptWords = (kind: string): string =>
  (Object.hasOwn(words, kind) ? words[kind] : undefined) ?? kind;

type ReceiptTextProps = Pick<Receipt, 'receipt' | 'nextTry' | 'triedUntil' | 'liveUntil' | 'endedAt'>;

export function ReceiptText({ receipt, nextTry, triedUntil, liveUntil, endedAt }: ReceiptTextProps) {
  return (
    <>
      <span class="receipt">{receiptWords(receipt)}</span>
      <span class="instants small">
        <Instant name="nextTry" at={nextTry} />
        <Instant name="triedUntil" at={triedUntil} />
        <Instant name="liveUntil" at={liveUntil} />
        <Instant name="ended" at={endedAt} />
      </span>
    </>
  );
}

function Instant({ name, at }: { readonly name: string; readonly at: number | undefined }) {
  if (at === undefined) return null;
  return (
    <span>
      {words[name]} <When at={at} />
    </span>
  );
}
