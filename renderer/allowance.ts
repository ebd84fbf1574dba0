/**
 * How long a person may allow a program something, and what each choice asks of the broker.
 *
 * Invariant: a choice is offered only where the wire carries exactly that; nothing is allowed for
 * longer or wider than the choice says.
 */
import type { Option } from './field.tsx';
import { scopeNames } from './scopes.tsx';
import { strings } from './strings.ts';
import type { LocalClient, ParamsOn, Permission, Question } from './views.ts';

/** The name under which the keyturn command asks; any program of the person's can, so it gets an hour. */
export const commandName = 'cli';

const hour = 3600;

export type Span = 'hour' | 'untilRevoked';

/** The choices for a card, the shortest first; fewer than two are no choice. `asker`: undefined while unknown. */
export function spansFor(question: Question, asker: LocalClient | undefined): Option[] {
  // The command's permission always ends after an hour; one that stands keeps its own end.
  if (asker === undefined || asker.name === commandName || standing(question, asker)) return [];
  const always = { value: 'untilRevoked', label: strings.card.untilRevoked };
  // Without scopes `permission.set` would allow any; only the answer fixes them to the first token's.
  if (scopeNames(question.scope).length === 0) return [always];
  return [{ value: 'hour', label: strings.card.hour }, always];
}

/** What the asking program may do at that server already. */
export function standing({ resource }: Question, asker: LocalClient | undefined): Permission | undefined {
  return asker?.permissions.find((p) => p.resource === resource && p.decision === 'allow');
}

type Call =
  | { readonly channel: 'interaction.answer'; readonly params: ParamsOn<'interaction.answer'> }
  | { readonly channel: 'permission.set'; readonly params: ParamsOn<'permission.set'> };

/** What allows it. `now` in seconds since 1970. A permission that is set also closes the card it decides. */
export function allowing({ id, client, resource, scope }: Question, span: Span, now: number): Call {
  if (span === 'hour' && client !== undefined && resource !== undefined && scope !== undefined) {
    const params = { client, resource, scope, decision: 'allow', until: now + hour } as const;
    return { channel: 'permission.set', params };
  }
  return { channel: 'interaction.answer', params: { id, answer: 'yes' } };
}
