/** Texts of one area of the page in both languages. That both say the same things is checked by the compiler and by a test. */
export interface Texts {
  [key: string]: string | Texts
}

/** The same keys as `T`, with any words. */
type Same<T> = { [K in keyof T]: T[K] extends string ? string : Same<T[K]> }

export interface Area<T extends Texts> {
  'en-US': T
  'zh-CN': Same<T>
}

export function area<const T extends Texts>(english: T, chinese: Same<T>): Area<T> {
  return { 'en-US': english, 'zh-CN': chinese }
}
