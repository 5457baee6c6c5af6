/** What `ask_user` asks, read from its arguments: one of four forms. */
import { readArguments, type Value } from './arguments'

export type QuestionForm = 'text' | 'single' | 'multiple' | 'preview'

export interface Question {
  question: string
  form: QuestionForm
  options: string[]
  preview: string
}

const FORMS: readonly QuestionForm[] = ['text', 'single', 'multiple', 'preview']

/** The question in a call's arguments. A choice among nothing is a question for words. */
export function questionOf(source: string): Question {
  const given = readArguments(source) ?? {}
  const options = [...new Set(list(given['options']))]
  const named = FORMS.find((form) => form === given['form']) ?? 'text'
  const form = options.length || named === 'preview' ? named : 'text'
  return { question: text(given['question']), form, options, preview: text(given['preview']) }
}

function text(value: Value | undefined): string {
  return typeof value === 'string' ? value : ''
}

function list(value: Value | undefined): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}
