export type LogLevel = 'info' | 'warn' | 'error';

export type Log = (line: { level: LogLevel; message: string; [field: string]: unknown }) => void;

/** One message of the server. */
export interface ServerMessage {
  readonly severity: string;
  /** The kind of process that wrote it, such as `client backend`; empty when unknown. */
  readonly process: string;
  /** SQLSTATE; empty when unknown. */
  readonly code: string;
  readonly text: string;
}

const LINE = /^(?:([^|]*)\|([^|]*)\|)?(DEBUG\d|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC): +(.*)$/;

/** Reads one line, with the prefix of settings.ts or none. What is no message counts as a warning. */
export function readServerLine(line: string): ServerMessage {
  const match = LINE.exec(line);
  if (match === null) return { severity: 'WARNING', process: '', code: '', text: line };
  const [, process = '', code = '', severity = '', text = ''] = match;
  return { severity, process, code, text };
}

/** The data directory is held by another server, or by what is left of one; it may be free in a moment. */
export function isHeldByAnother({ code }: ServerMessage): boolean {
  return code === LOCK_FILE_EXISTS;
}

const LOCK_FILE_EXISTS = 'F0001';

/** Shutdown, crash of another backend, starting up: passing states that the supervisor itself reports. */
const PASSING = ['57P01', '57P02', '57P03', LOCK_FILE_EXISTS];

/** Lack of resources, system errors, internal errors: faults of the server, whoever asked. */
const FAULT_CLASSES = ['53', '58', 'XX'];

/**
 * The level at which the service logs a message, or undefined when it does not. A client is told its own errors,
 * and many are part of normal work (a lost race on a unique index), so of those only faults of the server count.
 */
export function levelOf({ severity, process, code, text }: ServerMessage): LogLevel | undefined {
  if (severity === 'PANIC') return 'error';
  if (severity === 'WARNING') return 'warn';
  if (severity === 'LOG') return text.includes('was terminated by signal') ? 'warn' : undefined;
  if (severity !== 'ERROR' && severity !== 'FATAL') return undefined;
  if (PASSING.includes(code)) return undefined;
  if (process === 'client backend' && !FAULT_CLASSES.includes(code.slice(0, 2))) return undefined;
  return 'error';
}
