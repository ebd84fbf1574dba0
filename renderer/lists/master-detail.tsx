/**
 * A list of short rows, and beside it all about the chosen one. In a narrow window the one takes the other's place.
 *
 * Invariant: what is beside the list changes only if the user chooses another row or filters it away: a list
 * that is read again moves no button from under the pointer.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { formatCount, type CountUnit } from '../base/format.ts';
import { goTo, type Tab } from '../state/route.ts';
import type { ListState } from '../state/store.ts';
import { Icon } from '../parts/icon.tsx';
import { ListFrame } from './list-frame.tsx';
import { LongList } from './long-list.tsx';

interface MasterDetailProps<T> {
  /** Also the unit of what is counted beside the filter. */
  readonly tab: Tab & CountUnit;
  /** The key of the chosen item; none: the first one, where there is room for both. */
  readonly chosen: string | undefined;
  readonly loaded: ListState<unknown>;
  /** In the order in which they are shown. */
  readonly items: readonly T[];
  readonly words: {
    readonly filter: string;
    readonly emptyTitle: string;
    readonly empty: string;
    /** Leads back to the list. */
    readonly all: string;
  };
  readonly keyOf: (item: T) => string;
  /** All the text by which the filter finds it. The same function at every drawing, as are the next two. */
  readonly textOf: (item: T) => string;
  readonly row: (item: T) => ComponentChildren;
  readonly detail: (item: T) => ComponentChildren;
}

export function MasterDetail<T>(props: MasterDetailProps<T>) {
  const { tab, chosen, loaded, items, words, keyOf, textOf, row, detail } = props;
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  const fitting = useMemo(
    () => items.filter((item) => textOf(item).toLowerCase().includes(wanted)),
    [items, textOf, wanted],
  );
  const open = items.find((item) => keyOf(item) === chosen);
  const shown = useShown({ fitting, keyOf, open });
  return (
    <ListFrame loaded={loaded} isEmpty={items.length === 0} words={words}>
      <div class="master-detail" data-open={open !== undefined}>
        <div class="master">
          <div class="filter">
            <Icon name="search" />
            <SearchField label={words.filter} value={filter} onInput={setFilter} />
            <p class="dim small" role="status">
              {formatCount(fitting.length, tab)}
            </p>
          </div>
          <LongList
            class="picks"
            items={fitting}
            keyOf={keyOf}
            show={(item) => <Row tab={tab} id={keyOf(item)} item={item} isShown={item === shown} row={row} />}
            onKeyDown={moveFocus}
          />
        </div>
        <div class="detail">
          <BackButton tab={tab} isOpen={open !== undefined} label={words.all} />
          {shown && <div key={keyOf(shown)}>{detail(shown)}</div>}
        </div>
      </div>
    </ListFrame>
  );
}

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

/** The label is also the placeholder. */
export function SearchField({ label, value, onInput }: SearchFieldProps) {
  const id = useId();
  return (
    <>
      <label class="visually-hidden" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        placeholder={label}
        value={value}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </>
  );
}

interface ShownNeeds<T> extends Pick<MasterDetailProps<T>, 'keyOf'> {
  readonly fitting: readonly T[];
  /** The item that the user chose. */
  readonly open: T | undefined;
}

/** The chosen item; else the one that was shown before, while it is in the list; else the first. */
function useShown<T>({ fitting, keyOf, open }: ShownNeeds<T>): T | undefined {
  const before = useRef<string | undefined>(undefined);
  const shown = open ?? fitting.find((item) => keyOf(item) === before.current) ?? fitting[0];
  before.current = shown && keyOf(shown);
  return shown;
}

interface RowProps<T> extends Pick<MasterDetailProps<T>, 'tab' | 'row'> {
  readonly id: string;
  readonly item: T;
  readonly isShown: boolean;
}

/** Drawn again only for another item: a list of hundreds is read at every change. */
function Row<T>({ tab, id, item, isShown, row }: RowProps<T>) {
  return useMemo(
    () => (
      <button type="button" class="pick" aria-current={isShown} onClick={() => goTo(tab, id)}>
        {row(item)}
      </button>
    ),
    [tab, id, item, isShown, row],
  );
}

/** Arrow keys go from row to row; Tab does, too. */
function moveFocus(event: KeyboardEvent): void {
  const row = document.activeElement?.closest('li');
  const next = event.key === 'ArrowDown' ? row?.nextElementSibling : row?.previousElementSibling;
  if (!(event.key === 'ArrowDown' || event.key === 'ArrowUp') || !next) return;
  event.preventDefault();
  next.querySelector('button')?.focus();
}

interface BackButtonProps {
  readonly tab: Tab;
  readonly isOpen: boolean;
  readonly label: string;
}

/** Shown by the style where the detail took the list's place; then the focus follows the user there and back. */
function BackButton({ tab, isOpen, label }: BackButtonProps) {
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    if (wasOpen.current === isOpen) return;
    wasOpen.current = isOpen;
    // The style took the element with the focus away; the browser may notice that only with the next frame.
    const { activeElement } = document;
    if (activeElement !== document.body && activeElement?.checkVisibility()) return;
    if (isOpen) button.current?.focus();
    else document.querySelector<HTMLElement>('.pick[aria-current=true]')?.focus();
  }, [isOpen]);
  return (
    <button type="button" class="back" ref={button} onClick={() => goTo(tab)}>
      <Icon name="back" /> {label}
    </button>
  );
}
