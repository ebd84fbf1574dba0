/** Types of soak-table.mjs, which any Node runs as it is. */
export function soakTable(file: string, date: string): string;
