import type { VNode } from 'preact';

/** Text with `code` in it. */
export function Marked({ text }: { readonly text: string }): VNode {
  const parts = text.split('`');
  return <>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
