/**
 * The page's few pictures, drawn as strokes in the colour of the text beside them.
 *
 * Invariant: each picture is beside a word that says the same, and screen readers skip the picture.
 */

/** Paths on a field of 16 by 16. */
const shapes = {
  ask: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.2 6.3a1.8 1.8 0 1 1 2.7 1.6c-.6.3-.9.7-.9 1.3M8 11.3v.1',
  back: 'M9.8 4l-4 4 4 4',
  check: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM5.4 8.2l1.8 1.8 3.4-3.8',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.8V8l2.1 1.4',
  ended: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM5.2 8h5.6',
  key: 'M6 3.2a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8.2 8.4l5 5M10.6 10.8l1.8-1.8',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5.2a2.5 2.5 0 0 1 5 0v2.3',
  no: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM3.9 3.9l8.2 8.2',
  app: 'M2.5 3.5h11v9h-11zM5 6.5l1.8 1.6L5 9.7M8.4 10h2.6',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.6v2.7h-2.7',
  search: 'M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2l3 3',
  server: 'M2.8 3.2h10.4v4H2.8zM2.8 8.8h10.4v4H2.8zM5.2 5.2v.1M5.2 10.8v.1',
  settings:
    'M2.5 5h7M12.5 5h1M2.5 11h1M6.5 11h7M11 3.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM5 9.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z',
  user: 'M8 2.6a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM3 13.4c.4-2.6 2.3-3.8 5-3.8s4.6 1.2 5 3.8',
  warn: 'M8 2.4l6 10.8H2zM8 6.6v3M8 11.4v.1',
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={shapes[name]} />
    </svg>
  );
}

/** The app's sign: the key of assets/keyturn.svg on its tile. */
export function Logo() {
  return (
    <svg class="sign" viewBox="0 0 64 64" aria-hidden="true" focusable="false">
      <rect class="tile" x="3" y="3" width="58" height="58" rx="14" />
      <g class="key-shape">
        <circle cx="24.4" cy="24.4" r="8.4" />
        <path d="M30.7 30.7 47.5 47.5M39.8 39.8l4.9-4.9M45.4 45.4l3.9-3.9" />
      </g>
    </svg>
  );
}
