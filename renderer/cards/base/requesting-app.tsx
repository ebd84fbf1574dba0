/**
 * Who asks: the app's name and file, what makes either doubtful, and the rest of what is known behind "Details".
 *
 * Invariant: no file, process or container makes a name look confirmed. Names, arguments, folders and what holds the
 * process are the app's own choice, and are said to be. Of a proxy's address no process is shown.
 */
import type { ComponentChildren } from 'preact';
import { Facts, PathFact, Path } from '../../parts/facts.tsx';
import { UntrustedText, Name, TextList } from '../../parts/untrusted-text.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Notice } from '../../parts/notice.tsx';
import { ScrollBox } from '../../parts/scroll-box.tsx';
import { strings } from '../../base/strings.ts';
import type { AppProcess, PairedApp, Question } from '../../base/views.ts';
import { When } from '../../parts/when.tsx';

const words = strings.card;

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
          <Name text={app} />
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
export function CommandSource({ question }: Pick<RequestingAppProps, 'question'>) {
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
  const { verified, file = 'unreadable', changeableBy, executable } = appProcess;
  const before = paired?.executable;
  return (
    <>
      <Caution>{words.doubts[verified ? file : 'unreadable']}</Caution>
      <Caution>{changeableBy && words.changeable[changeableBy]}</Caution>
      {/* The same name from another file: an update, or something else by that name. */}
      {executable !== undefined && before !== undefined && executable !== before && (
        <Caution>
          {words.otherFile} <Path text={before} />
        </Caution>
      )}
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
              {parents.length > 0 && (
                <>
                  , {words.startedBy} <TextList texts={parents} between=" ← " />
                </>
              )}
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

function File({ appProcess: { executable }, paired }: ProcessProps) {
  const file = executable ?? paired?.executable;
  if (file === undefined) return null;
  return (
    <ScrollBox label={words.file}>
      <p class="small">
        <span class="dim">{words.file} </span>
        <Path text={file} />
        {executable === undefined && <span class="dim"> {words.seenAtPairing}</span>}
      </p>
    </ScrollBox>
  );
}

/** What an interpreter says that it runs: any process can write that of itself. */
function ClaimedFacts({ claim }: { readonly claim: AppProcess['claim'] }) {
  if (claim === undefined) return null;
  const { script, arguments: given, isCut, folder } = claim;
  return (
    <div class="claims">
      <p class="dim">{words.claims}</p>
      <Facts>
        <PathFact name={words.script} text={script} />
        <PathFact name={words.folder} text={folder} />
        {given.length > 0 && (
          <PathFact name={words.arguments} text={[...given, ...(isCut ? ['…'] : [])].join(' ')} />
        )}
      </Facts>
    </div>
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
