/** Types of conformance.mjs, which any Node runs as it is. */
export function rulesOf(root: string): string[];
export function unproven(root: string, report: object): string[];
