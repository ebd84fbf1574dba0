/**
 * Who asks: the program's name, its file, its process and what started it, and how far that is known.
 *
 * Invariant: a mark of attestation stands beside a path only, never beside a name. Names, arguments, folders and what
 * holds the process are the program's own choice, and are said to be. Of a proxy's address no process is shown.
 */
import { Fact, Facts } from '../../parts/facts.tsx';
import { UntrustedText } from '../../parts/untrusted-text.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Notice } from '../../parts/notice.tsx';
import { ScrollBox } from '../../parts/scroll-box.tsx';
import { strings } from '../../base/strings.ts';
import type { ClientProcess, LocalClient, Question } from '../../base/views.ts';

const words = strings.card;

/** Characters of a path. */
export const maxPathLength = 300;

interface RequestingProgramProps {
  readonly question: Question;
  /** What stands as the name; of a command, that it is one. */
  readonly name: string;
  /** What is to be known of that name. */
  readonly note: string;
  /** The paired program of that name. */
  readonly paired?: Pick<LocalClient, 'executable'> | undefined;
  /** Whether the paired programs are known yet. */
  readonly isRead: boolean;
}

export function RequestingProgram({ question, name, note, paired, isRead }: RequestingProgramProps) {
  return (
    <div class="party">
      <Icon name="program" />
      <div>
        <p class="party-name">
          <strong>
            <UntrustedText text={name} />
          </strong>
        </p>
        {question.proxied ? (
          <Notice kind="warn">{words.proxied}</Notice>
        ) : (
          <>
            <p class="dim small">{note}</p>
            {/* A command's is the one that it wants to open: the command itself runs here. */}
            {question.kind !== 'command' && <Elsewhere forward={question.forward} />}
            <Process asker={question.asker ?? { verified: false }} paired={paired} isRead={isRead} />
          </>
        )}
      </div>
    </div>
  );
}

interface ProcessProps extends Pick<RequestingProgramProps, 'paired' | 'isRead'> {
  readonly asker: ClientProcess;
}

function Process({ asker, paired, isRead }: ProcessProps) {
  const { executable, pid, parents = [] } = asker;
  return (
    <>
      <File asker={asker} paired={paired} />
      {isRead && <p class="dim small">{fileTrust(asker).what}</p>}
      <ClaimedFacts claim={asker.claim} />
      {pid !== undefined && (
        <p class="dim small">
          {words.process({ pid: String(pid) })}
          <Parents names={parents} />
        </p>
      )}
      <Enclosures enclosures={asker.enclosures} />
      {asker.changeableBy !== undefined && <p class="dim small">{words.changeable[asker.changeableBy]}</p>}
      <OtherFile now={executable} before={paired?.executable} />
    </>
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

/** The path with its mark; without a path, only the mark. */
function File({
  asker,
  paired,
}: {
  readonly asker: ClientProcess;
  readonly paired: RequestingProgramProps['paired'];
}) {
  const { executable } = asker;
  const file = executable ?? paired?.executable;
  const mark = <FileMark trust={fileTrust(asker)} />;
  if (file === undefined) return <p>{mark}</p>;
  return (
    <ScrollBox label={words.file}>
      <p class="path">
        <UntrustedText text={file} bound={maxPathLength} />
        {executable === undefined && <span class="dim"> {words.seenAtPairing}</span>} {mark}
      </p>
    </ScrollBox>
  );
}

/** What is known of the file; nothing where the broker says nothing. */
function fileTrust({ verified, file = 'unreadable' }: ClientProcess): FileTrust {
  const known = verified ? file : 'unreadable';
  return { isGood: known === 'attested', ...words.files[known] };
}

interface FileTrust {
  readonly isGood: boolean;
  readonly mark: string;
  readonly what: string;
}

export function FileMark({ trust: { isGood, mark, what } }: { readonly trust: FileTrust }) {
  return (
    <span class={`tag ${isGood ? 'good' : 'warn'}`} title={what}>
      <Icon name={isGood ? 'shield' : 'ask'} /> {mark}
    </span>
  );
}

/** What an interpreter says that it runs: any process can write that of itself. */
function ClaimedFacts({ claim }: { readonly claim: ClientProcess['claim'] }) {
  if (claim === undefined) return null;
  const { script, arguments: given, isCut, folder } = claim;
  return (
    <div class="claims small">
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

function Enclosures({ enclosures = [] }: Pick<ClientProcess, 'enclosures'>) {
  if (enclosures.length === 0) return null;
  return (
    <p class="dim small">
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
    <Notice kind="warn">
      {words.otherFile}{' '}
      <span class="path">
        <UntrustedText text={before} bound={maxPathLength} />
      </span>
    </Notice>
  );
}
