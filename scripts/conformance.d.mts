/** Types of conformance.mjs, which any Node runs as it is. */
export function rulesIn(markdown: string): string[];
export function unproven(root: string, report: object): string[];
