/** The stylesheet of the page at /docs: light and dark, wide and narrow. */
export const STYLESHEET = `:root {
  color-scheme: light dark;
  --ground: #ffffff; --side: #f6f7f9; --text: #1a1e26; --muted: #545c6a; --line: #dfe2e8; --inset: #f6f7f9;
  --accent: #2457c5; --good: #1a7040; --bad: #ad1f17; --warn: #8a5300; --violet: #6b3fb5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121418; --side: #1b1e24; --text: #e9ebef; --muted: #abb3c0; --line: #333944; --inset: #1b1e24;
    --accent: #8fb3ff; --good: #7fd6a2; --bad: #ffb4ab; --warn: #f0c079; --violet: #c9aeff;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;
  -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--ground); color: var(--text); display: grid;
  grid-template-columns: 19rem minmax(0, 1fr); }
a { color: var(--accent); text-underline-offset: 0.15em; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); padding: 0.5rem; z-index: 1; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; background: var(--side);
  border-right: 1px solid var(--line); font-size: 0.9rem; }
nav summary, nav .plain { display: list-item; cursor: pointer; padding: 0.35rem 0; font-weight: 600; color: var(--text); }
nav .plain { display: block; text-decoration: none; padding-left: 1.1rem; }
nav ul { list-style: none; margin: 0 0 0.75rem; padding: 0; }
nav li a { display: block; padding: 0.3rem 0.25rem; color: var(--muted); text-decoration: none; }
nav li a:hover { color: var(--accent); text-decoration: underline; }
main { padding: 2rem 2.5rem 6rem; max-width: 62rem; }
h1 { font-size: 1.9rem; margin: 0 0 1rem; line-height: 1.2; }
h2 { font-size: 1.45rem; margin: 3.5rem 0 0.25rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.1rem; margin: 0 0 0.35rem; }
h4 { font-size: 0.8rem; margin: 1.1rem 0 0.4rem; color: var(--muted); text-transform: uppercase; letter-spacing: 0.05em; }
p { margin: 0.5rem 0; }
.lead, .access { color: var(--muted); }
article { margin: 2.25rem 0; }
article:target h3 { background: color-mix(in srgb, var(--accent) 16%, transparent); border-radius: 4px; }
.method { font: 600 0.72rem/1 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; text-transform: uppercase;
  padding: 0.2em 0.45em; border: 1px solid currentColor; border-radius: 4px; color: var(--accent); white-space: nowrap; }
.method.post { color: var(--good); } .method.put { color: var(--warn); } .method.patch { color: var(--violet); }
.method.delete { color: var(--bad); }
code, pre, .path { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace; font-size: 0.86em; }
.path { overflow-wrap: anywhere; }
pre { margin: 0.4rem 0; padding: 0.7rem 0.9rem; background: var(--inset); border: 1px solid var(--line);
  border-radius: 6px; overflow-x: auto; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
.curl { white-space: pre; overflow-wrap: normal; }
code.schema { display: inline-block; margin: 0.15rem 0; }
.remark, .pattern { color: var(--muted); }
dl { margin: 0; }
dl > div { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 0 1rem; padding: 0.3rem 0;
  border-top: 1px solid var(--line); }
dl.answers > div { grid-template-columns: 3rem minmax(0, 1fr); }
dt { font-weight: 600; overflow-wrap: anywhere; } dd { margin: 0; overflow-wrap: anywhere; }
dt.good { color: var(--good); } dt.error { color: var(--bad); }
.where { font-weight: 400; font-size: 0.8rem; color: var(--muted); margin-left: 0.4em; }
.type { font-size: 0.85rem; color: var(--muted); }
@media (max-width: 56rem) {
  body { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); padding: 0.75rem 1rem;
    display: grid; grid-template-columns: 1fr 1fr; gap: 0 1rem; }
  nav details[open] { grid-column: 1 / -1; }
  nav summary { padding: 0.55rem 0; } nav .plain { padding: 0.55rem 0 0.55rem 1.1rem; } nav li a { padding: 0.55rem 0.25rem; }
  main { padding: 1.25rem 1rem 4rem; }
  dl > div { grid-template-columns: 1fr; }
}
@media print { nav { display: none; } body { display: block; } }
`;
