/** Types of conformance.mjs, which any Node runs as it is. */
export interface Proof {
  readonly file: string;
  readonly describes: readonly string[];
  readonly title: string;
}
export function proofsIn(markdown: string): Proof[];
export function unproven(root: string, report: object): string[];
