/**
 * Whether a request may be sent again when its answer was lost. Of those that change something, an upload or a push that
 * has landed is answered as if it had just landed, and a deletion by 404. Another POST makes a second one of what it makes.
 */
export function isRepeatable(method: string, path: string): boolean {
  if (method === 'POST') return REPEATABLE_POST.test(path);
  return method !== 'PATCH';
}

const REPEATABLE_POST =
  /\/(sync\/(pull|push)|files\/batch-(upload|download)|setup-encryption|verify-password|subscription\/trial|batch-delete|push-subscription|sign-out)$/;
