/**
 * How long a user may allow an app something, and which duration each choice asks of the broker.
 *
 * Invariant: a choice is offered only where the wire carries exactly that; nothing is allowed for
 * longer or wider than the choice says. "As before" is only where something was before.
 */
import { scopeNames } from '../../base/scopes.ts';
import { commandName } from '../../../words/app-kind.ts';
import type { PairedApp, ParamsOn, Permission, Question, SettingValue } from '../../base/views.ts';

/** Seconds. */
const hour = 3600;

const durations = ['once', 'hour', 'run', 'untilRevoked', 'asBefore'] as const;
export type DurationChoice = (typeof durations)[number];

/**
 * The choices for the card of one run's questions, the shortest first. `permissions`: what the app may do already
 * where each of them asks.
 */
export function durationChoices(
  { app, appProcess, proxied, detached }: Question,
  permissions: readonly (Permission | undefined)[],
): readonly DurationChoice[] {
  const isCommand = app === commandName;
  const had = permissions.filter((permission) => permission !== undefined).length;
  return [
    // Once is for one token of the run that asked.
    ...((appProcess === undefined && !proxied) || detached ? [] : (['once'] as const)),
    'hour',
    // Only if the system says which process that is. A command's is over before the next one asks.
    ...(isCommand || appProcess?.verified !== true || appProcess.pid === undefined || detached
      ? []
      : (['run'] as const)),
    // Only where it means the same for all of them.
    ...(had === permissions.length ? (['asBefore'] as const) : []),
    // What the command may do always ends.
    ...(had > 0 || isCommand ? [] : (['untilRevoked'] as const)),
  ];
}

/** What is chosen before the user chose: their setting, as far as this card has it. Unknown: the least. */
export function defaultChoice(
  choices: readonly DurationChoice[],
  setting: SettingValue | undefined,
): DurationChoice {
  const wanted = durations.find((choice) => choice === setting);
  if (wanted === undefined) return choices[0] ?? 'hour';
  if (choices.includes(wanted)) return wanted;
  return choices.includes('asBefore') && wanted === 'untilRevoked' ? 'asBefore' : 'hour';
}

/** Without the query, which a card shows: permissions are for the endpoint. A key may be for the whole URL. */
export const endpointIn = (resource: string | undefined): string | undefined =>
  resource?.replace(/\?.*$/s, '');

/** What the asking app may do at that server already, beyond a session. */
export function currentPermission(
  { resource, apiKey: key }: Question,
  pairedApp: PairedApp | undefined,
): Permission | undefined {
  return pairedApp?.permissions.find(
    (p) =>
      p.resource === (key === undefined ? endpointIn(resource) : resource) &&
      // A permission for tokens says nothing about the key, and the other way round.
      (p.apiKey === undefined) === (key === undefined) &&
      p.decision === 'allow' &&
      p.run === undefined,
  );
}

/** Which of the scopes it asks for are new to it. */
export function newScopes(
  { scope }: Pick<Question, 'scope'>,
  permission: Permission | undefined,
): readonly string[] {
  const known = scopeNames(permission?.scope);
  return permission?.scope === undefined ? [] : scopeNames(scope).filter((name) => !known.includes(name));
}

type DurationParams = Pick<ParamsOn<'request.answer'>, 'duration'>;

/** Seconds that the choice of a time lasts. */
export const hourLong = hour;

/**
 * Without a duration the broker allows it until the user ends it. Undefined where the choice means nothing: then
 * nothing may be sent.
 */
export function durationParams(
  choice: DurationChoice,
  permission: Permission | undefined,
): DurationParams | undefined {
  switch (choice) {
    case 'once':
      return { duration: { once: true } };
    case 'hour':
      return { duration: { seconds: hour } };
    case 'run':
      return { duration: { run: true } };
    case 'untilRevoked':
      return {};
    case 'asBefore':
      // What stands is the broker's to say, at the answer: it may have ended since the card was read.
      return permission === undefined ? undefined : { duration: { asBefore: true } };
  }
}
