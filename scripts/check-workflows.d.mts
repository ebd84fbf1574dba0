/** What is wrong with a workflow, by line. */
export function faultsOf(text: string, name?: string): Promise<string[]>;
