import type { Command } from 'commander';
import type { Context } from './context.js';
import type { ExitCode } from './exit-codes.js';

/** The body of a command. The context is followed by its arguments and its options, as commander passes them. */
export type Handler<A extends readonly unknown[]> = (context: Context, ...args: A) => Promise<ExitCode>;

/** Makes an action for commander: `.action(run(async (context, file, options) => …))`. */
export type Run = <A extends readonly unknown[]>(
  handler: Handler<A>,
) => (...args: unknown[]) => Promise<void>;

/** Adds commands to the program. */
export type Register = (program: Command, run: Run) => void;
