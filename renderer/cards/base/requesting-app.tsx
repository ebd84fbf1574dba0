/**
 * Who asks: the app's name and file, what makes either doubtful, and the rest of what is known behind "Details".
 *
 * Invariant: no file, process or container makes a name look confirmed. Names, arguments, folders and what holds the
 * process are the app's own choice, and are said to be. Of a proxy's address no process is shown.
 */
import type { ComponentChildren } from 'preact';
import { Fact, Facts } from '../../parts/facts.tsx';
import { UntrustedText } from '../../parts/untrusted-text.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Notice } from '../../parts/notice.tsx';
import { ScrollBox } from '../../parts/scroll-box.tsx';
import { strings } from '../../base/strings.ts';
import type { AppProcess, PairedApp, Question } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.card;

/** Characters of a path. */
export const maxPathLength = 300;

interface RequestingAppProps {
  readonly question: Question;
  /** What is to be known of its name. */
  readonly note: string;
  /** The paired app of that name. */
  readonly paired?: Pick<PairedApp, 'executable'> | undefined;
  /** Whether the paired apps are known yet. */
  readonly isRead?: boolean;
}

export function RequestingApp({ question, note, paired, isRead = true }: RequestingAppProps) {
  const { app = '', appProcess = { verified: false }, proxied, forward } = question;
  return (
    <div class="party">
      <Icon name="app" />
      <div>
        <p class="party-name">
          <strong>
            <UntrustedText text={app} />
          </strong>
        </p>
        {proxied ? (
          <Notice kind="warn">{words.proxied}</Notice>
        ) : (
          <>
            <p class="dim small">{note}</p>
            <Elsewhere forward={forward} />
            <File appProcess={appProcess} paired={paired} />
            {isRead && <Doubts appProcess={appProcess} paired={paired} />}
          </>
        )}
        <Details question={question} />
      </div>
    </div>
  );
}

/** Who ran a command. Nothing of it proves that the user did, so that all of it is evidence only. */
export function CommandProgram({ question }: Pick<RequestingAppProps, 'question'>) {
  const { appProcess = { verified: false } } = question;
  return (
    <div class="party">
      <Icon name="app" />
      <div>
        <p class="small">{strings.command.by}</p>
        <Details question={question}>
          <File appProcess={appProcess} />
          <Doubts appProcess={appProcess} />
        </Details>
      </div>
    </div>
  );
}

interface ProcessProps extends Pick<RequestingAppProps, 'paired'> {
  readonly appProcess: AppProcess;
}

/** Why the file says little about the app. */
function Doubts({ appProcess, paired }: ProcessProps) {
  return (
    <>
      <Caution>{words.doubts[fileOf(appProcess)]}</Caution>
      <Caution>{appProcess.changeableBy && words.changeable[appProcess.changeableBy]}</Caution>
      <OtherFile now={appProcess.executable} before={paired?.executable} />
    </>
  );
}

/** A line to look at before the answer. */
export function Caution({ children }: { readonly children: ComponentChildren }) {
  if (children === undefined || children === '') return null;
  return (
    <p class="caution small">
      <Icon name="warn" />
      <span>{children}</span>
    </p>
  );
}

interface DetailsProps extends Pick<RequestingAppProps, 'question'> {
  readonly children?: ComponentChildren;
}

/** Evidence, for who wants to look further. */
function Details({
  question: { appProcess = { verified: false }, proxied, createdAt, expiresAt },
  children,
}: DetailsProps) {
  const { pid, parents = [], claim, enclosures } = appProcess;
  return (
    <details class="evidence small">
      <summary>{words.details}</summary>
      {children}
      {!proxied && (
        <>
          <ClaimedFacts claim={claim} />
          {pid !== undefined && (
            <p class="dim">
              {words.process({ pid: String(pid) })}
              <Parents names={parents} />
            </p>
          )}
          <Enclosures enclosures={enclosures} />
        </>
      )}
      <p class="dim">
        {words.asked} <When at={createdAt} />
        {expiresAt !== undefined && (
          <>
            , {words.expires} <When at={expiresAt} />
          </>
        )}
      </p>
    </details>
  );
}

/** The machine or sandbox that it runs in; the process below is what passes its requests on. */
function Elsewhere({ forward }: Pick<Question, 'forward'>) {
  if (!forward) return null;
  const { label, hostKey: key } = forward;
  return (
    <Notice kind="info">
      {key === undefined ? words.inSandbox({ label }) : words.elsewhere({ label, key })}
    </Notice>
  );
}

/** The path, on a ground that praises nothing. */
function File({ appProcess: { executable }, paired }: ProcessProps) {
  const file = executable ?? paired?.executable;
  if (file === undefined) return null;
  return (
    <ScrollBox label={words.file}>
      <p class="small">
        <span class="dim">{words.file} </span>
        <RunFile path={file} />
        {executable === undefined && <span class="dim"> {words.seenAtPairing}</span>}
      </p>
    </ScrollBox>
  );
}

export function RunFile({ path }: { readonly path: string }) {
  return (
    <code class="path">
      <UntrustedText text={path} bound={maxPathLength} />
    </code>
  );
}

const fileOf = ({ verified, file = 'unreadable' }: AppProcess) => (verified ? file : 'unreadable');

/** What an interpreter says that it runs: any process can write that of itself. */
function ClaimedFacts({ claim }: { readonly claim: AppProcess['claim'] }) {
  if (claim === undefined) return null;
  const { script, arguments: given, isCut, folder } = claim;
  return (
    <div class="claims">
      <p class="dim">{words.claims}</p>
      <Facts>
        {script !== undefined && <ClaimedFact name={words.script} text={script} />}
        {folder !== undefined && <ClaimedFact name={words.folder} text={folder} />}
        {given.length > 0 && (
          <ClaimedFact name={words.arguments} text={[...given, ...(isCut ? ['…'] : [])].join(' ')} />
        )}
      </Facts>
    </div>
  );
}

function ClaimedFact({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <Fact name={name}>
      <span class="path">
        <UntrustedText text={text} />
      </span>
    </Fact>
  );
}

function Enclosures({ enclosures = [] }: Pick<AppProcess, 'enclosures'>) {
  if (enclosures.length === 0) return null;
  return (
    <p class="dim">
      {words.runsIn}{' '}
      {enclosures.map(({ kind, name }, at) => (
        <span key={`${kind} ${name}`}>
          {at > 0 && ', '}
          {words.enclosures[kind]} <UntrustedText text={name} />
        </span>
      ))}{' '}
      {words.chosenName}
    </p>
  );
}

function Parents({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <>
      {', '}
      {words.startedBy}{' '}
      {names.map((name, at) => (
        <span key={`${at} ${name}`}>
          {at > 0 && ' ← '}
          <UntrustedText text={name} />
        </span>
      ))}
    </>
  );
}

/** The same name from another file: an update, or something else by that name. */
function OtherFile({
  now,
  before,
}: {
  readonly now: string | undefined;
  readonly before: string | undefined;
}) {
  if (now === undefined || before === undefined || now === before) return null;
  return (
    <Caution>
      {words.otherFile} <RunFile path={before} />
    </Caution>
  );
}
