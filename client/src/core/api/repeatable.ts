/**
 * Whether a request may be repeated when its answer was lost. A repeated upload or push is answered as if it were the
 * first, a repeated deletion by 404. Any other POST would create a second object.
 */
export function isRepeatable(method: string, path: string): boolean {
  if (method === 'POST') return REPEATABLE_POST.test(path);
  return method !== 'PATCH';
}

const REPEATABLE_POST =
  /\/(sync\/(pull|push)|files\/batch-(upload|download)|setup-encryption|verify-password|subscription\/trial|batch-delete|push-subscription|sign-out)$/;
