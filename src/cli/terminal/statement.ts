/**
 * The form in which each command states itself, once. Parsing, help, overview, completions and guesses read it.
 *
 * Invariant: a statement is data. Its summaries are plain words that may be in any shell's quotes.
 */

interface Description {
  /** One line, for completions. */
  readonly summary: string;
  /** What the help adds to that line, with the punctuation that joins them. */
  readonly more?: string;
}

interface OptionName extends Description {
  /** The letter of the short form. */
  readonly short?: string;
}

/** An option without a value. */
interface Flag extends OptionName {
  readonly type: 'boolean';
  /** Between Keyturn's own processes: in no help and no completion. */
  readonly hidden?: true;
}

/** An option with a value. */
interface Setting extends OptionName {
  readonly type: 'string';
  /** What the help calls the value. */
  readonly value: string;
  /** The values there are, where they can be listed. Others are refused. */
  readonly values?: readonly string[];
  /** Words to complete it to. Others are accepted. */
  readonly offers?: readonly string[];
  /** It may be given several times; its value is a list. */
  readonly repeatable?: true;
}

/** `type` is what Node's parser reads. */
export type Option = Flag | Setting;

export interface Operand {
  readonly name: string;
  /** The words there are, where they can be listed. Others are refused. */
  readonly values?: readonly string[];
  /** Words to complete it to. Others are accepted. */
  readonly offers?: readonly string[];
  /** The same, by the word before it. */
  readonly offersAfter?: Readonly<Record<string, readonly string[]>>;
  /** Only optional ones follow. */
  readonly optional?: true;
  /** The last one: one word or more. */
  readonly repeatable?: true;
}

export interface Statement {
  /** After `keyturn`: a verb, or a noun and a verb. */
  readonly name: string;
  /** One line, imperative, for overviews and for completions. */
  readonly summary: string;
  readonly operands: readonly Operand[];
  /** The operands are another command with options of its own: they are after `--`. */
  readonly launches?: true;
  /** What the refusal of too many operands says, in place of which there are. */
  readonly tooMany?: string;
  /** By long name. Every command takes `--help` besides. */
  readonly options: Readonly<Record<string, Option>>;
  /** Usage lines after `keyturn`; made of operands and options unless given. */
  readonly usage?: readonly string[];
  /** What the command does, in one or two sentences. */
  readonly about: string;
  /** Words that the command takes or prints, each with what it means. */
  readonly terms?: Readonly<Record<string, string>>;
  /** Paragraphs for the whole text only. */
  readonly notes?: readonly string[];
  /** Environment variables that the command reads. */
  readonly environment?: { readonly about: string; readonly variables: readonly string[] };
  /** Exit codes whose meaning is this command's own. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  /** Shell lines. The short help shows two; a refused command line shows the first that begins with this command. */
  readonly examples: readonly string[];
}

/** What a command says of itself: without operands or options it takes none. */
export type Stated = Omit<Statement, 'operands' | 'options'> &
  Partial<Pick<Statement, 'operands' | 'options'>>;

type TextOf<T> = T extends { readonly values: readonly (infer V)[] } ? V : string;

type ValueOf<T> = T extends { readonly repeatable: true } ? readonly TextOf<T>[] : TextOf<T>;

type OptionsOf<T extends Statement['options']> = {
  readonly [K in keyof T]?: T[K] extends { readonly type: 'boolean' } ? boolean : ValueOf<T[K]>;
};

type OperandsOf<T extends Statement['operands']> = T extends readonly [{ readonly repeatable: true }]
  ? readonly [string, ...string[]]
  : {
      readonly [K in keyof T]: TextOf<T[K]> | (T[K] extends { readonly optional: true } ? undefined : never);
    };

/** What was typed, in the types that the statement gives it. */
export interface Input<S extends Stated> {
  readonly options: S extends { readonly options: infer O extends Statement['options'] }
    ? OptionsOf<O>
    : Readonly<Record<string, never>>;
  readonly operands: S extends { readonly operands: infer O extends Statement['operands'] }
    ? OperandsOf<O>
    : readonly [];
}

/** The long options that are shown. */
export function shownOptions({ options }: Statement): [name: string, option: Option][] {
  return Object.entries(options).filter(([, option]) => !('hidden' in option));
}

/** The same option in every command that has it. */
export const jsonOption = (what: string) =>
  ({ type: 'boolean', short: 'j', summary: `print ${what} as JSON` }) as const;
export const yesOption = { type: 'boolean', short: 'y', summary: "don't ask" } as const;
export const scopeOption = (summary: string, more = '') =>
  ({
    type: 'string',
    short: 's',
    value: 'SCOPE',
    summary: `${summary}; repeatable`,
    more: `, or a quoted list${more}`,
    repeatable: true,
  }) as const;
export const accountOption = (summary: string, more = '') =>
  ({ type: 'string', value: 'ACCOUNT', summary, more }) as const;
export const forOption = (more: string) =>
  ({ type: 'string', value: 'TIME', summary: 'for this long, e.g. 30m, 8h, 2d', more }) as const;

/** What every command takes. */
export const helpOption: Option = { type: 'boolean', short: 'h', summary: 'show this' };

/** Options in place of a command. */
export const topOptions: Readonly<Record<string, Option>> = {
  help: helpOption,
  version: { type: 'boolean', short: 'V', summary: 'show the version' },
};
