/**
 * What every list needs around it: placeholders of the same height while it is read, a refusal beside
 * the last that was read, a word where there is nothing.
 */
import type { ComponentChildren } from 'preact';
import { Button } from '../parts/button.tsx';
import { Refused } from '../parts/notice.tsx';
import { rereadAll, type ListState } from '../state/store.ts';
import { strings } from '../base/strings.ts';

interface ListFrameProps {
  readonly loaded: ListState<unknown>;
  /** Says so if there is nothing. */
  readonly isEmpty?: boolean;
  readonly words?: { readonly emptyTitle: string; readonly empty: string };
  readonly children: ComponentChildren;
}

export function ListFrame({ loaded, isEmpty = false, words, children }: ListFrameProps) {
  const { value, refusal } = loaded;
  return (
    <>
      {refusal !== undefined && (
        <div class="stale">
          <Refused refusal={refusal} />
          {value !== undefined && <p class="dim">{strings.stale}</p>}
          <Button text={strings.reload} onPress={rereadAll} />
        </div>
      )}
      {value === undefined && refusal === undefined && <Skeleton />}
      {value !== undefined &&
        (isEmpty && words ? <Empty title={words.emptyTitle} text={words.empty} /> : children)}
    </>
  );
}

function Skeleton() {
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">{strings.loading}</span>
      {[0, 1, 2].map((row) => (
        <div class="card" key={row} aria-hidden="true" />
      ))}
    </div>
  );
}

export function Empty({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <p class="dim">{text}</p>
    </div>
  );
}
