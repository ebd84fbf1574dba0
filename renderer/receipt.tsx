/** What the issuer said to a revocation, in words. */
import { strings } from './strings.ts';
import type { Receipt } from './views.ts';
import { When } from './when.tsx';

const words = strings.receipts;

export const receiptWords = (kind: string): string =>
  (Object.hasOwn(words, kind) ? words[kind] : undefined) ?? kind;

type ReceiptTextProps = Pick<Receipt, 'receipt' | 'nextTry' | 'liveUntil' | 'endedAt'>;

export function ReceiptText({ receipt, nextTry, liveUntil, endedAt }: ReceiptTextProps) {
  return (
    <>
      <span class="receipt">{receiptWords(receipt)}</span>
      <Instant name="nextTry" at={nextTry} />
      <Instant name="liveUntil" at={liveUntil} />
      <Instant name="ended" at={endedAt} />
    </>
  );
}

function Instant({ name, at }: { readonly name: string; readonly at: number | undefined }) {
  if (at === undefined) return null;
  return (
    <span class="receipt">
      {words[name]} <When at={at} />
    </span>
  );
}
