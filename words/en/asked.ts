/**
 * The open requests as cards, and the sentence of each, with the names in it as each place draws them.
 *
 * Invariant: no name of a program, a server or a setting is part of a sentence before its place made it fit to show.
 */
import { appKind, type AppKind } from '../app-kind.ts';
import type { requests } from './requests.ts';
import type { Bound } from '../messages.ts';

type Words = Bound<typeof requests>;

/** Of a request, what its sentence names. */
export interface Asked {
  readonly kind: 'signIn' | 'device' | 'command' | Exclude<keyof Words['questions'], 'signIn' | 'apiKey'>;
  readonly command?: keyof Words['commands'] | undefined;
  readonly app?: string | undefined;
  readonly resource?: string | undefined;
  readonly issuer?: string | undefined;
  readonly account?: string | undefined;
  readonly server?: string | undefined;
  readonly apiKey?: object | undefined;
  readonly setting?: { readonly name: string } | undefined;
  readonly forward?: { readonly label: string } | undefined;
}

/** Requests that are answered together. */
export interface Card<Q> {
  /** Of the request that opened it, which may be answered by now. */
  readonly id: string;
  readonly questions: readonly [Q, ...Q[]];
}

/** What one run of an app asks in one breath is one card. In the order in which they came up. */
export function cardsOf<Q extends { readonly id: string; readonly card?: string | undefined }>(
  open: readonly Q[],
): readonly Card<Q>[] {
  const cards = new Map<string, [Q, ...Q[]]>();
  for (const question of open) {
    const { id, card = id } = question;
    const questions = cards.get(card);
    if (questions) questions.push(question);
    else cards.set(card, [question]);
  }
  return [...cards].map(([id, questions]) => ({ id, questions }));
}

/** How many servers they are about: an app may ask for another account, or for more, at one of them. */
export const serverCount = (questions: readonly Asked[]): number =>
  new Set(questions.map(({ resource }) => resource)).size;

/** How a place shows names and addresses: as text, or as something drawn. */
interface Shown<T extends object> {
  readonly name: (text: string) => T | string;
  readonly address: (url: string) => T | string;
}

interface Values<T extends object> {
  readonly who: AppKind;
  readonly count: string;
  readonly app: T | string;
  readonly server: T | string;
  readonly provider: T | string;
  readonly account: T | string;
  readonly site: T | string;
  readonly machine: T | string;
  readonly setting: T | string;
}

/** A message of some of these values, or of none. */
type Sentence<T extends object> = string | { parts(values: Values<T>): readonly (string | T)[] };

/** The sentence of a card in pieces. */
export function askedParts<T extends object>(
  words: Words,
  [asked, ...others]: readonly [Asked, ...Asked[]],
  { name, address }: Shown<T>,
): readonly (string | T)[] {
  const count = serverCount([asked, ...others]);
  const { app = '', resource = '', server = '', issuer = '', account = '', forward, setting } = asked;
  const sentence: Sentence<T> = count > 1 ? words.questions.allowSeveral : sentenceOf<T>(words, asked);
  if (typeof sentence === 'string') return [sentence];
  return sentence.parts({
    who: appKind(app),
    count: String(count),
    app: name(app),
    server: address(asked.command === 'exception' ? server : resource),
    provider: address(issuer),
    account: name(account),
    site: address(server),
    machine: name(forward?.label ?? ''),
    setting: name(setting?.name ?? ''),
  });
}

function sentenceOf<T extends object>(
  { questions, commands }: Words,
  { kind, command = 'other', apiKey, account }: Asked,
): Sentence<T> {
  switch (kind) {
    case 'command':
      return commands[apiKey && command === 'allow' ? 'allowKey' : command];
    case 'signIn':
    case 'device':
      return questions[account === undefined ? 'signIn' : 'signInAs'];
    default:
      return questions[apiKey ? 'apiKey' : kind];
  }
}
