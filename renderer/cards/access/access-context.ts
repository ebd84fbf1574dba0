/**
 * What the card for access says and offers beyond the questions themselves: it depends on lists that change.
 *
 * Invariant: there is no offer before every list that it rests on was read: a list that can't be read is
 * not an empty one. It holds only what the card shows, so that nothing else counts as a change of it. A duration is
 * offered only where the wire carries exactly that: nothing is allowed for longer or wider than the choice says.
 */
import { scopeNames } from '../../base/scopes.ts';
import type {
  PairedApp,
  Permission,
  Refusal,
  ParamsOn,
  Question,
  Questions,
  SettingValue,
} from '../../base/views.ts';
import { useList } from '../../state/store.ts';
import { commandName } from '../../../words/app-kind.ts';

/** What is to be known of one question's server. */
export interface ServerContext {
  /** What the app may do there already. */
  readonly permission: Permission | undefined;
  readonly issuers: readonly string[];
}

export interface AccessContext {
  /** The paired app of that name; undefined if there is none, or more than one. */
  readonly pairedApp: Pick<PairedApp, 'appId' | 'executable'> | undefined;
  /** Of each question, in their order. */
  readonly servers: readonly ServerContext[];
  /** What every one of the questions can be given. */
  readonly durations: readonly DurationChoice[];
  /** What is chosen before the user chose. */
  readonly first: DurationChoice;
}

/** `refusal`: of a list that can't be read. */
export function useAccessContext(questions: Questions): {
  readonly context?: AccessContext;
  readonly refusal?: Refusal | undefined;
} {
  const clients = useList('app.list');
  const settings = useList('settings.get');
  const signIns = useList('signIn.list');
  if (!clients.value || !settings.value || !signIns.value) {
    return { refusal: clients.refusal ?? settings.refusal ?? signIns.refusal };
  }
  const known = signIns.value.signIns;
  const named = clients.value.apps.filter(({ name }) => name === questions[0].app);
  const pairedApp = named.length === 1 ? named[0] : undefined;
  const servers = questions.map((question) => {
    const there = known
      .filter(({ endpoint }) => endpoint === endpointIn(question.resource))
      .map((signIn) => signIn.issuer);
    return {
      permission: currentPermission(question, pairedApp),
      issuers: question.issuer === undefined ? [...new Set(there)] : [question.issuer],
    };
  });
  const durations = durationChoices(
    questions[0],
    servers.map(({ permission }) => permission),
  );
  return {
    context: {
      pairedApp: pairedApp && { appId: pairedApp.appId, executable: pairedApp.executable },
      servers,
      durations,
      first: defaultChoice(durations, settings.value.settings['defaultDuration']),
    },
  };
}

/** Seconds that the choice of a time lasts. */
export const hourLong = 3600;

const durations = ['once', 'hour', 'run', 'untilRevoked', 'asBefore'] as const;
export type DurationChoice = (typeof durations)[number];

/**
 * The choices for the card of one run's questions, the shortest first. `permissions`: what the app may do already
 * where each of them asks.
 */
function durationChoices(
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
function defaultChoice(
  choices: readonly DurationChoice[],
  setting: SettingValue | undefined,
): DurationChoice {
  const wanted = durations.find((choice) => choice === setting);
  if (wanted === undefined) return choices[0] ?? 'hour';
  if (choices.includes(wanted)) return wanted;
  return choices.includes('asBefore') && wanted === 'untilRevoked' ? 'asBefore' : 'hour';
}

/** Without the query, which a card shows: permissions are for the endpoint. A key may be for the whole URL. */
const endpointIn = (resource: string | undefined): string | undefined => resource?.replace(/\?.*$/s, '');

/** What the asking app may do at that server already, other than for one run. */
function currentPermission(
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

/** Without a duration: until the user ends it. Undefined if the choice means nothing: then nothing may be sent. */
export function durationParams(
  choice: DurationChoice,
  permission: Permission | undefined,
): Pick<ParamsOn<'request.answer'>, 'duration'> | undefined {
  switch (choice) {
    case 'once':
      return { duration: { once: true } };
    case 'hour':
      return { duration: { seconds: hourLong } };
    case 'run':
      return { duration: { run: true } };
    case 'untilRevoked':
      return {};
    case 'asBefore':
      // What stands is the broker's to say, at the answer: it may have ended since the card was read.
      return permission === undefined ? undefined : { duration: { asBefore: true } };
  }
}
