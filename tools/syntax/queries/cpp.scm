(function_definition declarator: (_) @name) @function
(class_specifier name: (_) @name body: (_)) @class
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @union
(enum_specifier name: (_) @name body: (_)) @enum
(namespace_definition name: (_) @name) @namespace
(type_definition declarator: (_) @name) @type
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @concept
(preproc_def name: (identifier) @name value: (_)) @macro
(preproc_function_def name: (identifier) @name) @macro
(field_declaration declarator: (function_declarator) @name) @declaration
(field_declaration declarator: (pointer_declarator declarator: (function_declarator)) @name) @declaration
(field_declaration declarator: (reference_declarator (function_declarator)) @name) @declaration
(declaration declarator: (function_declarator) @name) @declaration
(declaration declarator: (pointer_declarator declarator: (function_declarator)) @name) @declaration
(declaration declarator: (reference_declarator (function_declarator)) @name) @declaration
(declaration declarator: [(identifier) (init_declarator) (pointer_declarator) (array_declarator)] @name) @variable
(field_declaration declarator: (_) @name @asked) @field
(enumerator name: (identifier) @name @asked) @constant
(preproc_def name: (identifier) @name @asked) @macro
