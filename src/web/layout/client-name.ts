const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|HeadlessChrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const HANDED_OVER = /^(\S+) \(signed in with /;
const LONGEST = 60;

/** A short description of a session's User-Agent. Only a hint: a client can send any text. */
export function clientName(userAgent: string): string {
  const app = HANDED_OVER.exec(userAgent)?.[1];
  const browser = named(BROWSERS, userAgent);
  const system = named(SYSTEMS, userAgent);
  const client = [browser, system].filter(Boolean).join(' on ');
  if (app !== undefined) return client ? `${app}, signed in with ${client}` : app;
  return client || userAgent.slice(0, LONGEST) || 'Unknown client';
}

function named(names: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1];
}
